"""What the operating system keeps: secrets in its keyring, private files."""
