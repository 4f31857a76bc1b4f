"""A farm."""

LIMIT = 3


class Animal:
    """Anything that makes a sound."""

    def __init__(self, name):
        self.name = name

    def sound(self):
        raise NotImplementedError


class Cow(Animal):
    def sound(self):
        return twice("moo") + self.name


def twice(word):
    def again(w):
        return w + w

    return again(word)[:LIMIT]


@staticmethod
def visit():
    return Cow("Élise").sound()
