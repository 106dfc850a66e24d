"""The main screen: trace, side panes, composer and status line."""
