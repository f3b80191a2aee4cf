"""Names of the environment variables and the defaults of a client."""

API_KEY_ENV = "TYPESAFE_API_KEY"
"""Environment variable of the API key."""

BASE_URL_ENV = "TYPESAFE_BASE_URL"
"""Environment variable of the base URL."""

DEFAULT_MODEL_ENV = "TYPESAFE_DEFAULT_MODEL"
"""Environment variable of the model."""

LOG_LEVEL_ENV = "TYPESAFE_LOG_LEVEL"
"""Environment variable of the logger's level: debug, info, warn, error or off."""

DEFAULT_BASE_URL = "https://api.typesafe.ai"
"""The base URL when none is given."""

DEFAULT_MODEL = "jev-latest"
"""The model when none is given."""

DEFAULT_TIMEOUT = 10.0
"""Seconds that one attempt may take when nothing else is said: connecting, sending and the whole reply."""

DEFAULT_DEADLINE = 30.0
"""Seconds that a call may take as a whole when nothing else is said: attempts and the waits between them."""
