"""What the feature packages promise each other, by topic. Each protocol is met by one package, joined by the app."""
