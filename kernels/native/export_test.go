package native

// Lanes is lanes.
var Lanes = lanes
