"""A memory of one recipe recalls it for its own kind of task, and for hardly any other."""

from alita_tui.memory.background import REQUESTS
from alita_tui.memory.relevance import Relevance

WEATHER = (
    "Can you tell me what the weather will be like in Lisbon tomorrow?",
    "I would like to know the forecast for the weekend in Oslo.",
    "Could you please check whether it will rain in Paris this evening?",
    "What temperature can I expect in Madrid next week?",
    "I am planning a trip and want to know the weather in Rome.",
    "Can you provide a detailed weather forecast for Berlin, including wind and rain?",
    "Is it going to snow in the mountains near Geneva on Friday?",
    "Please give me information about the current temperature in Cairo.",
    "How windy will it be at the beach this afternoon?",
    "Can you recommend the best day this week for a walk without rain?",
    "I need to know if there will be a storm in Dublin tonight.",
    "Help me find out how humid it is in Singapore today.",
)
NEW = (
    "Can you tell me the weather forecast for Vienna?",
    "Will it rain in Hamburg tomorrow?",
    "What is the temperature in Athens this week?",
    "I want to know the weather in Prague on the weekend.",
    "Could you check the forecast of wind and rain for Porto?",
)
OTHER = tuple(request for request in REQUESTS if "weather" not in request)


def recalled(memory: Relevance, task: str) -> bool:
    return any(fit.likely for fit in memory.fits(task))


def test_the_only_recipe_of_a_memory_is_not_recalled_for_tasks_of_another_kind() -> None:
    memory = Relevance()
    memory.put("weather", WEATHER)
    assert sum(recalled(memory, task) for task in NEW) >= 0.6 * len(NEW)
    assert sum(recalled(memory, task) for task in OTHER) <= 0.1 * len(OTHER)
