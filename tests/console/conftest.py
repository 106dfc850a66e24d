"""What all tests of the console share: times of day are those of UTC, wherever the tests run."""

from tests.console.screens import utc as utc
