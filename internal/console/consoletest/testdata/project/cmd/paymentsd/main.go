// Command paymentsd serves the payments API.
package main

import (
	"log"
	"net/http"

	"example.com/payments/bank"
	"example.com/payments/handler"
	"example.com/payments/ledger"
	"example.com/payments/store"
)

func main() {
	db := store.Open("postgres://payments")
	h := handler.New(ledger.New(db), bank.NewClient("https://bank.example"))
	log.Fatal(http.ListenAndServe(":8080", h))
}
