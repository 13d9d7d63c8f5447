"""Files that lie elsewhere: `s3://`, `gs://`, `hf://`, `memory://` and whatever else fsspec knows.

`place` has addresses as paths, `requests` asks for things so many times, and so many at a time, `known` says what there
is, `ahead` fetches what will be needed. Fetched files of stores are kept by `augrecipes.store.cache`.
"""
