// Package host finds backends and opens their devices: backends built into the program, and plugins, which run as processes of
// their own, or are shared objects that package host/shared loads.
//
// Plugins are executables named burn-backend-NAME, or shared objects burn-backend-NAME.so (.dylib, .dll), with an optional
// manifest burn-backend-NAME.toml beside them, in the folders of BURN_PLUGIN_PATH, in ./burn_plugins, in the user's data folder,
// in the system's, and beside the program, in this order; or in the layout HOST/NAMESPACE/NAME/VERSION/OS_ARCH below one of them.
// The first plugin of a name wins. A plugin in ./burn_plugins is used only if the user has allowed it, and never instead of an
// installed or locked plugin: see Find and Options.Ask.
package host
