"""Batches on other machines with Dask: messages, authentication, and the scheduler and worker processes.

Dask is an extra. Only `alita worker` and `alita tools map --engine tls://…` import it.
"""
