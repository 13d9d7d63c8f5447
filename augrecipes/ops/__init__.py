"""What a step can be: albumentations' classes and our own, their arguments, and what the compiler may know of them."""
