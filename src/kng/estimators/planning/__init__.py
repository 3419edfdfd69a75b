"""What a release would be worth, before it is paid for: public facts and the caller's guesses."""
