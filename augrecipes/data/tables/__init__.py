"""What datasets know of their samples before one is read: paths, labels, boxes, pairs, tiles, as arrays. No torch."""
