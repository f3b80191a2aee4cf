/* The wire's names (wire contract sections 1 to 5), each written once. */
#ifndef DM_PROTOCOL_NAMES_H
#define DM_PROTOCOL_NAMES_H

#define DM_WIRE_EVALUATE_PATH "/v1/systemone"
#define DM_WIRE_MODELS_PATH   "/v1/models"
#define DM_WIRE_BASE_URL      "https://api.typesafe.ai"
#define DM_WIRE_MODEL         "jev-latest"

#define DM_WIRE_RETRY_COUNT "X-TypeSafe-Retry-Count"
#define DM_WIRE_SDK         "X-TypeSafe-SDK"
#define DM_WIRE_RUNTIME     "X-TypeSafe-Runtime"

#define DM_ENV_API_KEY   "TYPESAFE_API_KEY"
#define DM_ENV_BASE_URL  "TYPESAFE_BASE_URL"
#define DM_ENV_MODEL     "TYPESAFE_DEFAULT_MODEL"
#define DM_ENV_LOG_LEVEL "TYPESAFE_LOG_LEVEL"

#endif
