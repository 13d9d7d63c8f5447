"""Packing on Slurm: a script that hands in the parts as an array of jobs, and behind it what merges them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

_SCRIPT = """\
#!/bin/bash
# {about}
# bash this-file [options of sbatch, such as --partition=cpu --cpus-per-task=8 --time=2:00:00]
# What fails is handed in again in the same way: parts that are there are left as they are.
set -euo pipefail
cd -- {here}

parts=$(sbatch --parsable --job-name=pack --array=1-{of} "$@" <<'{mark}'
#!/bin/bash
# 1: packed, but for inputs that are unreadable.
{pack} --part "$SLURM_ARRAY_TASK_ID/{of}" --workers {workers} || test $? -eq 1
{mark}
)
merge=$(sbatch --parsable --job-name=pack-merge --dependency="afterok:${{parts%%;*}}" "$@" <<'{mark}'
#!/bin/bash
{merge}
{mark}
)
echo "{of} parts: job ${{parts%%;*}}; merged behind them: job ${{merge%%;*}}"
"""


def slurm_script(
    about: str,
    here: str,
    program: Sequence[str],
    packing: Sequence[str],
    out: str,
    parts: int,
    shard_size: str | None,
    workers: int | None = None,
) -> str:
    """The script: whoever runs it hands in all parts, and the merge that waits for them.

    Args:
        about: a line on what is packed.
        here: the folder that relative paths begin in.
        program: the words that run augrecipes.
        packing: the words that say what is packed, without `--out`.
        out: the store.
        parts: how many.
        shard_size: of the store's files.
        workers: processes of a part; None: as many as its job has cores.

    >>> print(slurm_script("3 pictures", "/data", ["augrecipes"], ["folder-128", "my photos"], "store", 2, None))
    #!/bin/bash
    # 3 pictures
    # bash this-file [options of sbatch, such as --partition=cpu --cpus-per-task=8 --time=2:00:00]
    # What fails is handed in again in the same way: parts that are there are left as they are.
    set -euo pipefail
    cd -- /data
    <BLANKLINE>
    parts=$(sbatch --parsable --job-name=pack --array=1-2 "$@" <<'PACK'
    #!/bin/bash
    # 1: packed, but for inputs that are unreadable.
    augrecipes pack folder-128 'my photos' --out store.parts --part "$SLURM_ARRAY_TASK_ID/2" --workers \
"${SLURM_CPUS_PER_TASK:-1}" || test $? -eq 1
    PACK
    )
    merge=$(sbatch --parsable --job-name=pack-merge --dependency="afterok:${parts%%;*}" "$@" <<'PACK'
    #!/bin/bash
    augrecipes pack --merge store.parts --out store
    PACK
    )
    echo "2 parts: job ${parts%%;*}; merged behind them: job ${merge%%;*}"
    <BLANKLINE>
    """
    folder = f"{out.rstrip('/')}.parts"
    pack = shlex.join([*program, "pack", *packing, "--out", folder])
    bound = [] if shard_size is None else ["--shard-size", shard_size]
    merge = shlex.join([*program, "pack", "--merge", folder, "--out", out, *bound])
    mark = "PACK"
    while mark in pack + merge:
        mark += "_"
    processes = '"${SLURM_CPUS_PER_TASK:-1}"' if workers is None else str(workers)
    words = {"about": " ".join(about.split()), "here": shlex.quote(here), "workers": processes}
    return _SCRIPT.format(**words, of=parts, mark=mark, pack=pack, merge=merge)
