# Where the lavapipe with matrix units is. Sourced by tools/setup.d/matrix_units.sh and tools/lavapipe/matrix_units.
source "$(dirname "${BASH_SOURCE[0]}")/../private_root.sh"

matrix_units_root=$(private_root matrix-units-forky)
