"""What tests of several folders share: small datasets, laws, servers, damage."""
