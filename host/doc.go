// Package host finds backends and opens their devices: backends built into the program, and plugins, which run as processes of
// their own, or are shared objects that package host/shared loads.
//
// Plugins are executables named burn-backend-NAME, or shared objects burn-backend-NAME.so (.dylib, .dll), with an optional
// manifest burn-backend-NAME.toml beside them, in the folders of BURN_PLUGIN_PATH, in ./burn_plugins, in the user's data folder,
// in the system's, and beside the program, in this order; or in the layout HOST/NAMESPACE/NAME/VERSION/OS_ARCH below one of them.
// The first plugin of a name wins. A plugin in ./burn_plugins is used only if the user has allowed it, and never instead of an
// installed or locked plugin: see Find and Options.Ask.
//
// It must not execute, load or trust a plugin before admit.go and content.go have checked it.
//
// # Files, in the order of the data
//
//	spec.go, open.go      NAME[:INDEX] parsed and opened; Options
//	search.go, local.go   plugins found in folders; ./burn_plugins and the user's permission
//	manifest.go, manifest/ the description beside a plugin
//	admit.go, store/      locks, signatures and trust of installed plugins
//	content.go, contents.go, sealed/  the checked bytes that are executed
//	contain.go            the rules that confine a plugin process
//	loader.go, shared/    shared objects, in this process or in a process of their own
//	lasting.go, restore/  backends that survive the loss of their process
//	devices.go            every backend described
package host
