"""Readers for object annotations (COCO, labelme, Pascal VOC, YOLO): boxes, polygons, masks, keypoints, as a table."""
