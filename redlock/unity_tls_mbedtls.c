/* Replaces unity_client.c if "make TLS=mbedtls" asks for it, and adds TLS by Mbed TLS. */
#include "unity_client.c"
#include "../net/net_mbedtls.c"
