"""The drawer of tasks: what runs, what waits, and the queue, which is put in order there."""
