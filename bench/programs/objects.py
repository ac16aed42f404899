"""Classes, methods, properties and operators: a small simulation of a bank."""
import dataclasses
import heapq
import sys


@dataclasses.dataclass(order=True)
class Event:
    time: int
    serial: int
    account: "Account" = dataclasses.field(compare=False)

    def happen(self, bank):
        return self.account.take(self.serial % 90, bank)


class Account:
    __slots__ = ("number", "_balance", "history")

    def __init__(self, number):
        self.number = number
        self._balance = 1000
        self.history = []

    @property
    def balance(self):
        return self._balance

    @balance.setter
    def balance(self, value):
        if value < 0:
            raise ValueError("overdrawn")
        self._balance = value

    def __hash__(self):
        return self.number

    def __eq__(self, other):
        return self.number == other.number

    def take(self, amount, bank):
        try:
            self.balance -= amount
        except ValueError:
            return bank.lend(self)
        self.history.append(amount)
        return amount


class Saver(Account):
    __slots__ = ()

    def take(self, amount, bank):
        return super().take(amount // 2, bank)


class Bank:
    def __init__(self, count):
        self.accounts = [(Saver if i % 3 else Account)(i) for i in range(count)]
        self.lent = {}
        self.events = []

    def lend(self, account):
        self.lent[account] = self.lent.get(account, 0) + 1
        account.balance += 500
        return 0

    def run(self, count):
        serial = 0
        for account in self.accounts:
            heapq.heappush(self.events, Event(account.number % 17, serial := serial + 1, account))
        total = 0
        while serial < count:
            event = heapq.heappop(self.events)
            total += event.happen(self)
            heapq.heappush(self.events, Event(event.time + event.serial % 11 + 1,
                                              serial := serial + 1, event.account))
        return total + sum(self.lent.values())


print(sum(Bank(200).run(25000) for _ in range(int(sys.argv[1]))))
