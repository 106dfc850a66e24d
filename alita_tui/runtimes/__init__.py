"""The languages that tools are written in, each behind one port (`port.py`)."""
