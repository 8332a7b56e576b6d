/** Why HTTP and scripts leave out what decides which machine is the desk. */
export const BY_A_PERSON = {
  http: "which machine is the desk is decided by a person on that machine",
  script: "which machine is the desk is decided by a person",
};
