"""What the product is attacked with: `make attack`. Each section has `attack(share, seed)`, which gives outcomes."""
