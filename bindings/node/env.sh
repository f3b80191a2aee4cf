# What Node needs to find this package as `deemster` from anywhere (sourced by ./dev node).
deemster_modules=$DEEMSTER_BUILD/node_modules
mkdir -p "$deemster_modules"
ln -sfn "$DEEMSTER_ROOT/bindings/node" "$deemster_modules/deemster"
export NODE_PATH=$deemster_modules${NODE_PATH:+:$NODE_PATH}
