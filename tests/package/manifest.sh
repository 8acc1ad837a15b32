#!/usr/bin/env bash
# Installs the build and connects to the driver by its name, which a manager finds by the manifest.
#
#   manifest.sh CMAKE BUILD_DIR SCRATCH_DIR PYTHON
set -euo pipefail

cmake=$1 build=$2 scratch=$3 python=$4

"$python" -c 'import adbc_driver_manager.dbapi, pyarrow' 2>/dev/null || {
    echo 'skipped: no adbc_driver_manager'
    exit 77
}
rm -rf "$scratch"
mkdir -p "$scratch"
"$cmake" --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log"
cd "$scratch"
ADBC_DRIVER_PATH=$scratch/prefix/etc/adbc/drivers "$python" - <<'PYTHON'
from adbc_driver_manager import dbapi

with dbapi.connect(driver="heddle", db_kwargs={"cache_dir": "", "backend": "cpu"}, autocommit=True) as con:
    assert con.adbc_get_info()["vendor_name"] == "Heddle"
PYTHON
