"""What the agent does for each action: one handler per action, looked up by the action's type."""
