# Sourced: builds the addon, and makes the package known as `deemster` to Node programs in the project and elsewhere.
# DEEMSTER_BUILD names the CMake build folder (default build/) whose library and mock are used.
node_folder=$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")" && pwd)
node_root=${DEEMSTER_ROOT:-$(cd "$node_folder/../.." && pwd)}
node_build=${DEEMSTER_BUILD:-$node_root/build}
DEEMSTER_LIBRARY=$node_build/abi/libdeemster.so DEEMSTER_BUILD=$node_build bash "$node_folder/scripts/build-native.sh" >&2
mkdir -p "$node_root/node_modules"
ln -sfn "$node_folder" "$node_root/node_modules/deemster"
export NODE_PATH=$node_root/node_modules${NODE_PATH:+:$NODE_PATH} DEEMSTER_MOCK=$node_build/bin/deemster-mock DEEMSTER_ROOT=$node_root
