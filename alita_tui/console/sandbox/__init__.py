"""The sandbox screen: containers, environments, limits and runs."""
