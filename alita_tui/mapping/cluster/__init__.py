"""Batches on other machines, placed by Dask: what travels, who is let in, how a worker and its scheduler are run.

Dask is an extra. Only `alita worker` and `alita tools map --engine tls://…` import it.
"""
