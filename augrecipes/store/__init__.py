"""A packed store: rows of images and masks in one folder, mapped into memory. The package knows nothing of recipes.

    STORE/              published by one rename; never modified afterwards
      index.json        version, format, kind, counts, the caller's `about`, sizes and checksums; written last
      columns.npz       arrays: each item's position, shape and checksum, and the caller's columns
      TARGET-00000.bin  the pixels of one target, in shards of bounded size, by format: .bin (raw), .tiles (lossless),
                        .jpgs (jpeg)

A row is one sample. Of each target it has one item (an image or a mask), many (bags), or none (could not be read).

>>> import numpy as np
>>> with StoreWriter("pets", format="raw", kind="image", targets={"image": "image"}, rows=1) as writer:
...     writer.add(0, {"image": [np.full((2, 3, 3), 7, np.uint8)]})
...     writer.finish({"label": np.array([1])})
>>> store = open_store("pets")
>>> store.array("image", 0).shape, store.columns["label"].tolist()
((2, 3, 3), [1])
"""

from augrecipes.store.formats import FORMATS as FORMATS
from augrecipes.store.formats import Item as Item
from augrecipes.store.formats import decodes_to as decodes_to
from augrecipes.store.formats import encoded_item as encoded_item
from augrecipes.store.formats import make_item as make_item
from augrecipes.store.items import Verify as Verify
from augrecipes.store.reader import Store as Store
from augrecipes.store.reader import is_store as is_store
from augrecipes.store.reader import open_store as open_store
from augrecipes.store.reader import reopen_store as reopen_store
from augrecipes.store.verify import Fault as Fault
from augrecipes.store.writer import StoreWriter as StoreWriter
