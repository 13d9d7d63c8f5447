"""What is known of images."""

from augrecipes.kinds.record import Facts

FACTS = Facts(dataset="ImageFolder", unit="image", annotated=True)
