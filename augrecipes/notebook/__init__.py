"""What a notebook shows of this package's objects: pages of HTML that need nothing else, and sheets of images."""
