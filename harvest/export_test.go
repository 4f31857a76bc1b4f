package harvest

// EntitiesOf gives tests the entities of a statement.
var EntitiesOf = entitiesOf
