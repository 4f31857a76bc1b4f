package connect

const cursor = "cursor"
