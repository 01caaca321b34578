/**
 * The unprivileged role that the product works as, so that row security holds: taken in each transaction by an engine whose only user is a superuser and by
 * an admin's connection, logged in as where a server has a password for it. The migrations make it.
 */
export const APP_ROLE = "cuba_app";
