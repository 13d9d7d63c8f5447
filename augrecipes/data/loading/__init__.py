"""What the loader is made of: backends, their workers and budgets, the choice among them, where a pass stands."""
