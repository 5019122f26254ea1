/* The sidebar shows the entry of the page that is open; the page itself does not move. */
document.addEventListener("DOMContentLoaded", () => {
  const sidebar = document.querySelector(".sidebar-scroll");
  const open = sidebar?.querySelector(".current-page")?.getBoundingClientRect();
  const seen = sidebar?.getBoundingClientRect();
  if (open && open.bottom > seen.bottom) sidebar.scrollTop += open.top - seen.top - seen.height / 2;
});
