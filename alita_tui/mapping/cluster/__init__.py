"""Batches on other machines with Dask: the messages, the authentication, how a scheduler and a worker are run.

Dask is an extra. Only `alita worker` and `alita tools map --engine tls://…` import it.
"""
