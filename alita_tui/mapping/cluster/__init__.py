"""Batches on other machines, carried by Dask: what travels, who is let in, how a scheduler and a worker are run.

Dask is an extra. Only `alita worker` and `alita tools map --engine tls://…` import it.
"""
