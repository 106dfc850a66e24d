"""Show where money and time go, what stands out, and what would help."""
