import pytest
from shop import Cart, total


class TestCart:
    def setup_method(self):
        self.cart = Cart()

    def test_add(self):
        self.cart.add(1)


@pytest.mark.parametrize("n", [1, 2])
def test_total(n):
    assert total([Cart()] * n) == n
