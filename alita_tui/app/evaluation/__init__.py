"""Running suites: cases in homes of their own, their checks and costs, and what the console and the commands show."""
