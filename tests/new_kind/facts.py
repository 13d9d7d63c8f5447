"""What is known of views."""

from augrecipes.kinds.record import Facts

FACTS = Facts(dataset="TwoViews", unit="image")
