//go:build !amd64

package kernel

func everyLevel[T interface {
	Run(name string, f func(T)) bool
}](t T, name string, f func(t T)) {
	t.Run(name, f)
}
