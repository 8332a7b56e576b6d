/**
 * The messages of Wayland's protocols that svc speaks, in the order of their numbers: the name, then its arguments. `build/wayland/table.ts` writes it
 * from the texts of the protocols beside it (`bun build/wayland/table.ts`).
 */
// biome-ignore-all format: one message a line

export const PROTOCOL = {
  wl_display: {
    version: 1,
    requests: [
      ["sync","new_id wl_callback"],
      ["get_registry","new_id wl_registry"],
    ],
    events: [
      ["error","object","uint","string"],
      ["delete_id","uint"],
    ],
  },
  wl_registry: {
    version: 1,
    requests: [
      ["bind","uint","string","uint","new_id"],
    ],
    events: [
      ["global","uint","string","uint"],
      ["global_remove","uint"],
    ],
  },
  wl_callback: {
    version: 1,
    requests: [],
    events: [
      ["done","uint"],
    ],
  },
  wl_shm: {
    version: 1,
    requests: [
      ["create_pool","new_id wl_shm_pool","fd","int"],
    ],
    events: [
      ["format","uint"],
    ],
  },
  wl_shm_pool: {
    version: 1,
    requests: [
      ["create_buffer","new_id wl_buffer","int","int","int","int","uint"],
      ["destroy"],
      ["resize","int"],
    ],
    events: [],
  },
  wl_buffer: {
    version: 1,
    requests: [
      ["destroy"],
    ],
    events: [
      ["release"],
    ],
  },
  wl_output: {
    version: 4,
    requests: [
      ["release"],
    ],
    events: [
      ["geometry","int","int","int","int","int","string","string","int"],
      ["mode","uint","int","int","int"],
      ["done"],
      ["scale","int"],
      ["name","string"],
      ["description","string"],
    ],
  },
  wl_seat: {
    version: 8,
    requests: [
      ["get_pointer","new_id wl_pointer"],
      ["get_keyboard","new_id wl_keyboard"],
      ["get_touch","new_id wl_touch"],
      ["release"],
    ],
    events: [
      ["capabilities","uint"],
      ["name","string"],
    ],
  },
  wl_pointer: {
    version: 8,
    requests: [
      ["set_cursor","uint","object","int","int"],
      ["release"],
    ],
    events: [
      ["enter","uint","object","fixed","fixed"],
      ["leave","uint","object"],
      ["motion","uint","fixed","fixed"],
      ["button","uint","uint","uint","uint"],
      ["axis","uint","uint","fixed"],
      ["frame"],
      ["axis_source","uint"],
      ["axis_stop","uint","uint"],
      ["axis_discrete","uint","int"],
      ["axis_value120","uint","int"],
    ],
  },
  wl_keyboard: {
    version: 8,
    requests: [
      ["release"],
    ],
    events: [
      ["keymap","uint","fd","uint"],
      ["enter","uint","object","array"],
      ["leave","uint","object"],
      ["key","uint","uint","uint","uint"],
      ["modifiers","uint","uint","uint","uint","uint"],
      ["repeat_info","int","int"],
    ],
  },
  wl_compositor: {
    version: 5,
    requests: [
      ["create_surface","new_id wl_surface"],
      ["create_region","new_id wl_region"],
    ],
    events: [],
  },
  wl_surface: {
    version: 5,
    requests: [
      ["destroy"],
      ["attach","object","int","int"],
      ["damage","int","int","int","int"],
      ["frame","new_id wl_callback"],
      ["set_opaque_region","object"],
      ["set_input_region","object"],
      ["commit"],
      ["set_buffer_transform","int"],
      ["set_buffer_scale","int"],
      ["damage_buffer","int","int","int","int"],
      ["offset","int","int"],
    ],
    events: [
      ["enter","object"],
      ["leave","object"],
    ],
  },
  wl_region: {
    version: 1,
    requests: [
      ["destroy"],
      ["add","int","int","int","int"],
      ["subtract","int","int","int","int"],
    ],
    events: [],
  },
  zxdg_output_manager_v1: {
    version: 3,
    requests: [
      ["destroy"],
      ["get_xdg_output","new_id zxdg_output_v1","object"],
    ],
    events: [],
  },
  zxdg_output_v1: {
    version: 3,
    requests: [
      ["destroy"],
    ],
    events: [
      ["logical_position","int","int"],
      ["logical_size","int","int"],
      ["done"],
      ["name","string"],
      ["description","string"],
    ],
  },
  zwlr_screencopy_manager_v1: {
    version: 3,
    requests: [
      ["capture_output","new_id zwlr_screencopy_frame_v1","int","object"],
      ["capture_output_region","new_id zwlr_screencopy_frame_v1","int","object","int","int","int","int"],
      ["destroy"],
    ],
    events: [],
  },
  zwlr_screencopy_frame_v1: {
    version: 3,
    requests: [
      ["copy","object"],
      ["destroy"],
      ["copy_with_damage","object"],
    ],
    events: [
      ["buffer","uint","uint","uint","uint"],
      ["flags","uint"],
      ["ready","uint","uint","uint"],
      ["failed"],
      ["damage","uint","uint","uint","uint"],
      ["linux_dmabuf","uint","uint","uint"],
      ["buffer_done"],
    ],
  },
  ext_image_capture_source_v1: {
    version: 1,
    requests: [
      ["destroy"],
    ],
    events: [],
  },
  ext_output_image_capture_source_manager_v1: {
    version: 1,
    requests: [
      ["create_source","new_id ext_image_capture_source_v1","object"],
      ["destroy"],
    ],
    events: [],
  },
  ext_image_copy_capture_manager_v1: {
    version: 1,
    requests: [
      ["create_session","new_id ext_image_copy_capture_session_v1","object","uint"],
      ["create_pointer_cursor_session","new_id ext_image_copy_capture_cursor_session_v1","object","object"],
      ["destroy"],
    ],
    events: [],
  },
  ext_image_copy_capture_session_v1: {
    version: 1,
    requests: [
      ["create_frame","new_id ext_image_copy_capture_frame_v1"],
      ["destroy"],
    ],
    events: [
      ["buffer_size","uint","uint"],
      ["shm_format","uint"],
      ["dmabuf_device","array"],
      ["dmabuf_format","uint","array"],
      ["done"],
      ["stopped"],
    ],
  },
  ext_image_copy_capture_frame_v1: {
    version: 1,
    requests: [
      ["destroy"],
      ["attach_buffer","object"],
      ["damage_buffer","int","int","int","int"],
      ["capture"],
    ],
    events: [
      ["transform","uint"],
      ["damage","int","int","int","int"],
      ["presentation_time","uint","uint","uint"],
      ["ready"],
      ["failed","uint"],
    ],
  },
  zwlr_virtual_pointer_manager_v1: {
    version: 2,
    requests: [
      ["create_virtual_pointer","object","new_id zwlr_virtual_pointer_v1"],
      ["destroy"],
      ["create_virtual_pointer_with_output","object","object","new_id zwlr_virtual_pointer_v1"],
    ],
    events: [],
  },
  zwlr_virtual_pointer_v1: {
    version: 2,
    requests: [
      ["motion","uint","fixed","fixed"],
      ["motion_absolute","uint","uint","uint","uint","uint"],
      ["button","uint","uint","uint"],
      ["axis","uint","uint","fixed"],
      ["frame"],
      ["axis_source","uint"],
      ["axis_stop","uint","uint"],
      ["axis_discrete","uint","uint","fixed","int"],
      ["destroy"],
    ],
    events: [],
  },
  zwp_virtual_keyboard_manager_v1: {
    version: 1,
    requests: [
      ["create_virtual_keyboard","object","new_id zwp_virtual_keyboard_v1"],
    ],
    events: [],
  },
  zwp_virtual_keyboard_v1: {
    version: 1,
    requests: [
      ["keymap","uint","fd","uint"],
      ["key","uint","uint","uint"],
      ["modifiers","uint","uint","uint","uint"],
      ["destroy"],
    ],
    events: [],
  },
  zwlr_data_control_manager_v1: {
    version: 2,
    requests: [
      ["create_data_source","new_id zwlr_data_control_source_v1"],
      ["get_data_device","new_id zwlr_data_control_device_v1","object"],
      ["destroy"],
    ],
    events: [],
  },
  zwlr_data_control_device_v1: {
    version: 2,
    requests: [
      ["set_selection","object"],
      ["destroy"],
      ["set_primary_selection","object"],
    ],
    events: [
      ["data_offer","new_id zwlr_data_control_offer_v1"],
      ["selection","object"],
      ["finished"],
      ["primary_selection","object"],
    ],
  },
  zwlr_data_control_source_v1: {
    version: 1,
    requests: [
      ["offer","string"],
      ["destroy"],
    ],
    events: [
      ["send","string","fd"],
      ["cancelled"],
    ],
  },
  zwlr_data_control_offer_v1: {
    version: 1,
    requests: [
      ["receive","string","fd"],
      ["destroy"],
    ],
    events: [
      ["offer","string"],
    ],
  },
  zwlr_foreign_toplevel_manager_v1: {
    version: 3,
    requests: [
      ["stop"],
    ],
    events: [
      ["toplevel","new_id zwlr_foreign_toplevel_handle_v1"],
      ["finished"],
    ],
  },
  zwlr_foreign_toplevel_handle_v1: {
    version: 3,
    requests: [
      ["set_maximized"],
      ["unset_maximized"],
      ["set_minimized"],
      ["unset_minimized"],
      ["activate","object"],
      ["close"],
      ["set_rectangle","object","int","int","int","int"],
      ["destroy"],
      ["set_fullscreen","object"],
      ["unset_fullscreen"],
    ],
    events: [
      ["title","string"],
      ["app_id","string"],
      ["output_enter","object"],
      ["output_leave","object"],
      ["state","array"],
      ["done"],
      ["closed"],
      ["parent","object"],
    ],
  },
  zwp_idle_inhibit_manager_v1: {
    version: 1,
    requests: [
      ["destroy"],
      ["create_inhibitor","new_id zwp_idle_inhibitor_v1","object"],
    ],
    events: [],
  },
  zwp_idle_inhibitor_v1: {
    version: 1,
    requests: [
      ["destroy"],
    ],
    events: [],
  },
  zwlr_layer_shell_v1: {
    version: 4,
    requests: [
      ["get_layer_surface","new_id zwlr_layer_surface_v1","object","object","uint","string"],
      ["destroy"],
    ],
    events: [],
  },
  zwlr_layer_surface_v1: {
    version: 4,
    requests: [
      ["set_size","uint","uint"],
      ["set_anchor","uint"],
      ["set_exclusive_zone","int"],
      ["set_margin","int","int","int","int"],
      ["set_keyboard_interactivity","uint"],
      ["get_popup","object"],
      ["ack_configure","uint"],
      ["destroy"],
      ["set_layer","uint"],
    ],
    events: [
      ["configure","uint","uint","uint"],
      ["closed"],
    ],
  },
} as const;
