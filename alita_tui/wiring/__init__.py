"""The one place where the rooms are joined. Everybody else receives what is built here."""
