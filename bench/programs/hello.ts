/** What `svc --version` is compared with. */
console.log("hello");
