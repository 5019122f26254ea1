/* The sidebar shows the entry of the page that is open. */
document.addEventListener("DOMContentLoaded", () =>
  document.querySelector(".sidebar-tree .current-page")?.scrollIntoView({ block: "nearest" })
);
