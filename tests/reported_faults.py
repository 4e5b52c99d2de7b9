"""The faults that users of terminal agents report most, and the tests that cover each.

Each name stands for a kind of fault, not for one input. After every test on a pty,
``tests/e2e/conftest.py`` checks that there is no traceback and no process left, and that the
terminal and the database are as they should be. The suite uses small sizes in
``tests/e2e/test_large_inputs.py``; ``make soak`` uses the reported ones: 500 MB of output, 100
turns, 40 messages in each of 5,000 sessions, 300,000 files, a file of 1 GB beside 100,000 ignored
ones.
"""

REPORTED_FAULTS: dict[str, tuple[str, ...]] = {
    # Files: what an edit may change
    "edits keep CRLF line endings": (
        "agent/tools/test_edit.py::test_crlf_files_match_and_keep_their_endings",
    ),
    "edits keep the last newline and work in large files": (
        "agent/tools/test_edit.py::test_edges_of_an_edit",
        "agent/tools/files/test_diffs.py::test_a_missing_last_newline_is_shown_only_when_it_changes",
        "agent/tools/test_edit.py::test_a_large_file_is_edited_by_its_exact_text",
        "e2e/test_large_inputs.py::test_a_file_of_50_mb_is_edited",
    ),
    "edits keep bytes of other encodings": (
        "agent/tools/test_edit.py::test_other_bytes_never_move",
        "agent/files/test_files.py::test_gbk_and_latin1_keep_their_bytes",
        "agent/files/test_files.py::test_few_letters_are_read_as_they_were_meant",
    ),
    "edits keep a byte order mark": (
        "agent/tools/test_edit.py::test_the_bom_stays_and_none_is_added",
        "agent/tools/test_write.py::test_mode_endings_and_bom_stay",
        "agent/tools/test_write.py::test_no_bom_is_added",
    ),
    "new text is inserted literally": (
        "agent/tools/test_edit.py::test_new_text_is_literal",
        "agent/tools/edit_match/test_properties.py::test_added_text_is_literal_and_the_rest_stays",
    ),
    "tabs survive reading and editing": (
        "agent/tools/test_edit.py::test_spaces_for_tabs_are_corrected_and_reported",
        "agent/tools/test_read.py::test_lines_are_numbered_and_tabs_stay",
    ),
    "an empty old text replaces nothing": (
        "agent/tools/test_edit.py::test_an_empty_old_text_is_refused",
        "agent/tools/test_edit.py::test_an_empty_old_text_creates_a_missing_file",
    ),
    "writing follows symbolic links": (
        "agent/tools/test_write.py::test_links_are_written_through",
        "agent/tools/test_write.py::test_a_link_through_a_linked_folder_lands",
        "agent/tools/test_apply_patch.py::test_links_are_written_through_and_neither_moved_nor_deleted",
    ),
    "files changed since the read are not overwritten": (
        "agent/tools/test_reported_faults.py::test_a_stale_file_is_not_overwritten",
        "agent/tools/test_edit.py::test_a_file_changed_since_the_read_is_refused",
    ),
    # Reading and searching
    "reads beyond the end of a file": (
        "agent/tools/test_reported_faults.py::test_reads_are_bounded",
    ),
    "text and binary files are told apart": (
        "agent/tools/test_reported_faults.py::test_binary_files_are_detected",
    ),
    "device files never block a read": (
        "agent/tools/test_reported_faults.py::test_special_files_are_refused_at_once",
    ),
    "invalid images do not break later requests": (
        "agent/tools/files/test_media.py::test_pictures_reach_the_model_and_a_false_one_never_does",
        "agent/provider/protocols/test_openai_chat_client.py::test_a_refused_image_is_dropped_for_that_request",
    ),
    "malformed patterns are errors": (
        "agent/tools/test_reported_faults.py::test_failed_searches_are_reported",
    ),
    "patterns that begin with dashes": (
        "agent/tools/test_reported_faults.py::test_failed_searches_are_reported",
    ),
    "folders behind symbolic links": (
        "agent/tools/test_reported_faults.py::test_walks_honor_ignore_files",
    ),
    # Commands
    "background processes hold no pipe open": (
        "agent/tools/test_reported_faults.py::test_a_background_process_does_not_hold_the_call",
        "e2e/test_processes.py::test_background_processes_end_with_the_program",
    ),
    "commands that ask for input": (
        "agent/tools/test_reported_faults.py::test_a_command_that_reads_stdin_does_not_wait",
        "e2e/test_processes.py::test_no_command_waits_for_input_a_pager_or_an_editor",
    ),
    "commands that start a pager or an editor": (
        "agent/tools/test_reported_faults.py::test_a_command_that_reads_stdin_does_not_wait",
        "e2e/test_processes.py::test_no_command_waits_for_input_a_pager_or_an_editor",
    ),
    "timeouts end the whole process tree": (
        "agent/process/test_run.py::test_a_timeout_ends_the_whole_tree",
        "agent/session/turn/test_cleanup.py::test_a_cancel_ends_processes_that_a_command_left_running",
        "e2e/test_processes.py::test_the_whole_process_tree_of_a_command_ends",
    ),
    "floods of output": (
        "agent/tools/test_reported_faults.py::test_floods_of_output_and_control_characters_are_bounded",
        "agent/process/test_run.py::test_a_flood_is_bounded_and_leaves_the_loop_free",
        "e2e/test_large_inputs.py::test_keys_work_during_a_flood_of_output_and_memory_is_bounded",
    ),
    "output does not accumulate in memory": (
        "agent/tools/test_reported_faults.py::test_memory_does_not_grow",
        "e2e/test_large_inputs.py::test_memory_is_bounded_over_many_commands",
    ),
    "progress bars": (
        "agent/tools/test_reported_faults.py::test_floods_of_output_and_control_characters_are_bounded",
        "agent/process/test_capture.py::test_a_line_that_is_drawn_again_comes_once",
    ),
    "lone surrogates": (
        "agent/tools/test_reported_faults.py::test_undecodable_text_never_breaks_a_request",
        "agent/session/test_resumed_sessions.py::test_a_session_with_broken_text_is_resumed",
    ),
    "a deleted working folder": (
        "agent/tools/test_reported_faults.py::test_every_command_starts_in_the_session_folder",
    ),
    # What a model sends
    "malformed tool arguments run nothing": (
        "agent/tools/test_pipeline.py::test_broken_arguments_run_nothing",
        "agent/session/turn/test_stream_faults.py::test_faults_of_the_stream",
    ),
    "calls without arguments": (
        "agent/tools/test_pipeline.py::test_no_arguments",
        "agent/provider/protocols/test_openai_chat_request.py::test_call_without_arguments_carries_an_empty_object",
        "agent/session/turn/test_unusual_streams.py::test_a_call_without_arguments_runs_and_is_sent_back_as_that",
    ),
    "parallel calls with one index": (
        "agent/provider/protocols/test_openai_chat_decode.py::test_call_assembly_same_index_with_new_id_is_a_new_call",
        "agent/session/turn/test_unusual_streams.py::test_two_calls_under_one_index_are_two",
    ),
    "tool calls with finish reason stop": (
        "agent/session/turn/test_stream_faults.py::test_faults_of_the_stream",
    ),
    "calls cut by the output limit": (
        "agent/session/turn/test_turn.py::test_a_call_cut_by_the_output_limit_is_never_run",
    ),
    "streams that break": (
        "agent/session/turn/test_turn.py::test_a_broken_stream_before_any_call_is_tried_again",
        "agent/session/turn/test_cut_streams.py::test_a_stream_cut_at_any_byte_never_runs_a_call_twice",
        "agent/session/turn/test_stream_faults.py::test_faults_of_the_stream",
    ),
    "call ids used again": (
        "agent/provider/test_native_sessions.py::test_repeated_call_ids_keep_their_own_results",
        "agent/provider/protocols/test_histories.py::test_ids_that_repeat_in_each_step_become_unique",
        "agent/session/test_resumed_sessions.py::test_same_ids_and_reasoning_outlive_the_program",
    ),
    "usage in any chunk": (
        "agent/provider/protocols/test_openai_chat_decode.py::test_usage_is_found_in_every_place",
    ),
    "cost includes sub-agents": (
        "agent/session/review/test_costs.py::test_sub_agents_titles_and_summaries_count_and_everything_adds_up",
    ),
    "reasoning is sent back": (
        "agent/provider/protocols/test_openai_chat_request.py::test_reasoning_is_replayed_in_its_own_field",
        "agent/provider/protocols/test_openai_chat_client.py::test_reasoning_is_not_sent_to_a_server_that_refuses_it",
        "agent/provider/test_native_sessions.py::test_reasoning_and_calls_are_replayed",
        "agent/session/test_resumed_sessions.py::test_same_ids_and_reasoning_outlive_the_program",
    ),
    "interrupted reasoning leaves a valid history": (
        "agent/provider/test_native_sessions.py::test_a_cancel_during_thinking_leaves_a_valid_history",
        "agent/provider/protocols/test_histories.py::test_unsigned_or_foreign_thinking_is_not_sent",
    ),
    "unknown tools and repeated calls end": (
        "agent/tools/test_registry.py::test_names_are_repaired",
        "agent/tools/test_registry.py::test_unknown_names_are_not_guessed",
        "agent/session/turn/test_turn.py::test_a_repeated_call_needs_permission",
        "agent/session/turn/test_doom_loop.py::test_calls_of_unknown_tools_do_not_continue_forever",
        "agent/session/turn/test_doom_loop.py::test_the_doom_loop_asks_even_if_everything_is_allowed",
        "app/cli/run/test_run.py::test_a_repeating_tool_call_is_refused",
    ),
    # Failing providers and full windows
    "retries are bounded": (
        "app/cli/run/test_run.py::test_a_failed_run_reports_its_failure",
        "agent/provider/transport/test_retry.py::test_delays_double_to_thirty_seconds_and_end_after_five_attempts",
        "e2e/test_stopping.py::test_ctrl_c_during_the_wait_for_a_retry",
        "e2e/test_processes.py::test_a_model_server_that_always_fails_is_given_up_with_the_reason",
    ),
    "overloaded providers are retried": (
        "agent/session/turn/test_stream_faults.py::test_faults_of_the_stream",
        "agent/provider/transport/test_errors.py::test_overloaded_event_in_mid_stream",
    ),
    "context overflow is recognized": (
        "agent/provider/transport/test_error_responses.py::test_at_least_25_wordings_of_an_overflow_are_known",
        "agent/session/turn/test_continuations.py::test_an_overflow_that_pruning_does_not_help_compacts_once",
        "agent/session/context/test_overflow.py::test_the_answers_share_of_the_window_is_counted",
    ),
    "compaction without progress ends": (
        "agent/session/context/test_compaction.py::test_compactions_without_progress_end_the_turn",
        "agent/session/turn/test_continuations.py::test_without_auto_compaction_the_turn_ends_before_it_sends_more",
        "agent/session/context/test_overflow.py::test_without_auto_compaction_an_overflow_is_not_compacted",
        "agent/session/context/test_overflow.py::test_instructions_that_fill_the_window_are_named",
    ),
    "calls and results stay together in compaction": (
        "agent/session/context/test_long_run.py::test_a_long_session_in_a_small_window",
        "agent/session/context/test_overflow.py::test_calls_and_results_stay_together_wherever_a_summary_cuts",
    ),
    "instructions survive compaction": (
        "agent/session/prompt/test_system_prompt.py::test_a_compaction_renews_the_block_and_drops_old_reminders",
        "agent/session/context/test_compaction.py::test_the_first_request_and_the_todo_list_survive_word_for_word",
        "agent/session/context/test_overflow.py::test_instructions_role_and_skill_outlive_a_summary",
    ),
    # Stopping and asking
    "interrupted calls have results": (
        "agent/session/turn/test_cleanup.py::test_a_cancel_with_three_questions_open_withdraws_all",
        "agent/session/turn/test_cancel_anywhere.py::test_a_cancel_at_any_iteration_leaves_everything_clean",
        "agent/session/turn/test_cancel.py::test_one_done_one_running_one_asking",
        "e2e/test_questions.py::test_stopping_with_one_call_done_one_running_one_asking",
    ),
    "interrupting stops everything": (
        "e2e/test_stopping.py::test_ctrl_c_keeps_the_received_text_and_closes_the_connection",
        "e2e/test_demo.py::test_ctrl_c_during_a_command_leaves_no_process",
        "agent/session/subagents/test_subagents.py::test_cancelling_the_parent_cancels_the_children",
        "e2e/test_stopping.py::test_ctrl_c_during_the_wait_for_a_retry",
        "e2e/test_stopping.py::test_ctrl_c_in_the_permission_dialog_cancels_the_turn",
        "e2e/test_stopping.py::test_esc_stops_a_sub_agent_and_its_command",
    ),
    "always covers what it says": (
        "app/screens/requests/test_permission_flow.py::test_always_for_a_chain_covers_only_the_shown_pattern",
    ),
    "rules apply to every command of a line": (
        "agent/session/test_command_rules.py::test_a_rule_for_one_command_covers_no_other_of_the_line",
        "agent/permission/shell/test_attacks.py::test_a_rule_for_a_program_does_not_cover_its_side_effects",
        "agent/permission/shell/test_deny_rules.py::test_a_denied_command_is_denied_however_it_is_written",
        "agent/permission/shell/test_expansion_order.py::test_a_denied_command_is_denied_however_its_name_is_spelled",
        "agent/permission/shell/test_redirection_folders.py::test_a_redirection_follows_the_folder",
        "agent/permission/shell/test_hidden_code.py::test_code_that_bash_runs_is_denied",
    ),
    "several open permission requests": (
        "app/screens/requests/test_permission_flow.py::test_three_questions_at_once",
        "agent/session/subagents/test_parallel_subagents.py::test_three_sub_agents_that_ask_at_once",
        "e2e/test_questions.py::test_three_sub_agents_ask_at_once",
    ),
    "permission requests of sub-agents in headless runs": (
        "app/cli/run/test_run.py::test_a_sub_agents_request_follows_the_same_policy",
    ),
    "long commands in the permission dialog": (
        "e2e/test_terminal.py::test_a_long_command_scrolls_and_the_answer_buttons_stay",
    ),
    # What is kept
    "several instances on one database": (
        "agent/store/test_database.py::test_processes_write_at_once_on_an_empty_folder",
        "e2e/test_processes.py::test_programs_started_together_lose_no_turn",
    ),
    "upgrades keep old sessions": (
        "agent/store/test_migrations.py::test_every_earlier_version_opens_with_its_sessions",
        "agent/store/test_migrations.py::test_a_process_killed_while_it_migrates_leaves_the_file_usable",
        "e2e/test_bad_input.py::test_a_newer_database_is_refused",
    ),
    "thousands of sessions": (
        "agent/store/test_store.py::test_queries_use_indexes",
        "e2e/test_large_inputs.py::test_five_thousand_sessions_are_listed_and_filtered",
    ),
    "damaged databases and full disks": (
        "agent/store/test_damage.py::test_a_damaged_file_is_kept_under_another_name",
        "agent/store/test_database.py::test_a_full_disk_is_reported_and_nothing_is_lost_once_there_is_space",
        "agent/config/test_paths.py::test_an_unwritable_folder_is_an_error_in_a_sentence",
        "e2e/test_bad_input.py::test_a_damaged_database_is_set_aside",
        "e2e/test_full_disk.py::test_a_full_disk_is_reported_and_nothing_is_lost",
        "e2e/test_full_disk.py::test_a_small_file_system_that_fills_up",
    ),
    "snapshots skip large and ignored files": (
        "agent/session/test_undo.py::test_a_file_that_is_too_large_is_reported",
        "agent/session/test_undo.py::test_a_large_file_written_by_a_command_is_reported",
        "e2e/test_large_inputs.py::test_large_and_ignored_files_are_not_copied_for_undo",
        "e2e/test_large_inputs.py::test_a_home_folder_gets_no_snapshot",
        "agent/session/snapshots/test_snapshots.py::test_the_programs_own_data_is_not_in_snapshots",
    ),
    "undo without git": (
        "agent/session/test_undo.py::test_undo_and_redo_restore_files_and_prompts",
    ),
    "undo with nested repositories": (
        "agent/session/test_undo_of_edits.py::test_edits_where_the_project_has_no_snapshots_are_undone",
        "agent/session/test_undo.py::test_changes_of_commands_in_a_submodule_are_reported_as_kept",
    ),
    # The terminal
    "untrusted text is not markup": (
        "e2e/test_terminal.py::test_untrusted_text_is_shown_literally_everywhere",
    ),
    "the terminal is restored": (
        "e2e/test_bad_input.py::test_the_terminal_is_restored_on_every_exit",
        "e2e/test_terminal.py::test_ctrl_z_suspends_and_fg_repaints_everything",
        "app/tui/test_startup.py::test_the_terminal_is_restored_on_every_way_out",
    ),
    "cost of streaming in long sessions": (
        "app/widgets/transcript/test_transcript.py::test_fewer_than_100_widgets_whatever_the_length",
        "agent/session/turn/test_unusual_streams.py::test_a_thought_of_very_many_pieces_is_one_part",
        "e2e/test_long_session.py::test_a_streamed_word_costs_the_same_after_500_messages",
        "e2e/test_idle.py::test_an_idle_program_never_wakes_up",
        "e2e/test_idle.py::test_an_open_dialog_costs_at_most_a_clock",
    ),
    "the view stays while scrolled up": (
        "app/widgets/transcript/test_transcript.py::test_the_visible_lines_never_move",
        "app/widgets/transcript/test_paging.py::test_the_visible_lines_stay_while_pages_are_loaded",
        "e2e/test_display.py::test_scrolled_up_the_view_stays_while_text_streams_and_a_dialog_opens",
    ),
    "pasted newlines": (
        "e2e/test_terminal.py::test_pasted_lines_are_one_prompt_with_and_without_markers",
        "app/terminal/test_key_parser.py::test_a_carriage_return_after_pasted_line_feeds_is_the_enter_key",
        "app/terminal/test_key_parser.py::test_keys_after_enter_can_arrive_with_it",
    ),
    "wide characters": (
        "app/widgets/input/test_prompt.py::test_wide_characters_are_deleted_as_a_whole",
        "e2e/test_terminal.py::test_keys_of_one_read_work_in_order",
        "app/widgets/input/test_field.py::test_keys_of_one_read_are_handled_in_order",
        "app/widgets/transcript/test_items.py::test_a_mouse_selection_over_wide_characters",
        "app/widgets/transcript/test_markdown.py::test_table_columns_are_aligned_in_cells",
        "e2e/test_display.py::test_a_click_on_a_wide_character_places_the_cursor_beside_it",
        "app/widgets/test_wide_titles.py::test_a_list_of_sessions_keeps_its_columns",
        "app/widgets/test_wide_titles.py::test_the_breadcrumbs_are_as_wide_as_the_screen",
        "app/widgets/test_wide_titles.py::test_a_question_about_a_file_with_a_wide_name_keeps_its_frame",
        "app/cli/test_session.py::test_columns_are_aligned_with_their_headings",
    ),
    "narrow terminals": (
        "e2e/test_terminal.py::test_a_terminal_of_20_columns_is_enough",
        "e2e/test_scripted_session.py::test_resizing_during_a_stream_breaks_nothing",
    ),
    "light terminals and no colors": (
        "app/theme/test_themes.py::test_own_themes_meet_wcag_aa",
        "app/widgets/transcript/test_diff.py::test_code_is_readable_on_the_backgrounds_of_a_diff",
        "e2e/test_display.py::test_everything_is_readable_without_colors",
    ),
    "invalid input bytes": (
        "e2e/test_bad_input.py::test_stray_bytes_do_no_harm",
        "app/terminal/test_key_parser.py::test_bytes_that_are_not_text_are_dropped",
    ),
    "copying over ssh and in tmux": (
        "app/widgets/transcript/test_items.py::test_selected_text_is_copied_without_gutter",
        "app/terminal/test_clipboard.py::test_the_osc_52_sequence_decodes_to_the_text",
        "app/terminal/test_clipboard.py::test_inside_tmux_the_sequence_is_sent_to_tmux_and_through_it",
        "app/terminal/test_clipboard.py::test_the_notice_reports_the_result_of_the_copy",
        "e2e/test_display.py::test_without_a_clipboard_program_the_terminal_copies_the_text",
    ),
    "wide Markdown tables": (
        "app/widgets/transcript/test_markdown.py::test_no_line_exceeds_the_page",
        "app/widgets/transcript/test_markdown.py::test_every_cell_of_a_wide_table_can_be_read",
        "app/widgets/transcript/test_markdown.py::test_copied_code_equals_the_source",
        "app/widgets/transcript/test_transcript.py::test_resize_and_theme_redraw_from_the_source",
    ),
    "keys in pieces, unasked replies, and no reported focus": (
        "app/terminal/test_key_parser.py::test_a_sequence_cut_at_any_byte_is_the_same",
        "app/tui/test_lost_keys.py::test_typing_arrives_in_a_terminal_that_reports_no_focus",
    ),
    "newline keys and a lone escape": (
        "e2e/test_scripted_session.py::test_every_newline_key_inserts_a_newline",
        "app/terminal/test_key_parser.py::test_a_lone_escape_is_a_key_after_the_wait_or_with_the_next_key",
        "app/terminal/test_key_parser.py::test_a_sequence_in_single_bytes_is_one_key",
    ),
    "queued messages": (
        "e2e/test_stopping.py::test_queued_messages_are_visible_and_arrive_once_in_order",
        "e2e/test_stopping.py::test_a_queued_message_survives_a_restart",
        "e2e/test_processes.py::test_text_that_arrives_with_enter_is_the_next_message",
    ),
    # Settings, instructions, servers
    "config files with comments": (
        "agent/config/test_loading.py::test_valid_forms_are_accepted",
        "agent/config/test_loading.py::test_a_broken_file_is_reported_and_everything_asks",
        "agent/config/test_loading.py::test_a_wrong_value_is_reported_and_the_rest_applies",
    ),
    "broken skills": (
        "agent/test_skills.py::test_a_bad_skill_does_not_affect_the_others",
        "agent/test_skills.py::test_each_bad_skill_is_reported_once",
    ),
    "instruction files": (
        "agent/session/prompt/test_system_prompt.py::test_each_instruction_is_sent_exactly_once_where_it_applies",
        "agent/session/prompt/test_system_prompt.py::test_a_child_agent_has_the_same_instructions",
        "agent/session/prompt/test_instructions.py::test_a_huge_file_is_truncated_with_a_note",
        "agent/session/prompt/test_instructions.py::test_other_encodings_do_not_crash",
    ),
    "slow MCP servers": (
        "agent/mcp/test_servers.py::test_a_failing_server_does_not_affect_the_others",
        "agent/mcp/test_transports.py::test_a_server_over_sse_that_never_becomes_ready_is_given_up",
        "agent/mcp/test_tool.py::test_a_server_that_hangs_delays_no_turn",
        "e2e/test_processes.py::test_bad_mcp_servers_delay_neither_start_nor_exit",
    ),
    "missing and crashing MCP servers": (
        "agent/mcp/test_servers.py::test_a_failing_server_does_not_affect_the_others",
        "agent/mcp/test_servers.py::test_a_server_that_crashes_is_restarted",
        "agent/mcp/test_servers.py::test_no_process_of_a_server_is_left",
        "e2e/test_processes.py::test_bad_mcp_servers_delay_neither_start_nor_exit",
    ),
    "invalid MCP tool schemas": (
        "agent/mcp/test_servers.py::test_a_bad_schema_excludes_one_tool_only",
        "agent/mcp/test_schemas.py::test_harmless_faults_of_a_schema_are_repaired",
        "agent/mcp/test_deferred_tools.py::test_many_tools_are_found_by_search_and_then_called",
    ),
    "hanging MCP calls": (
        "agent/mcp/test_servers.py::test_a_call_without_a_response_times_out",
        "agent/mcp/test_servers.py::test_results_of_every_kind",
        "agent/mcp/test_tool.py::test_a_huge_result_is_cut_and_stored",
    ),
    "slow language servers": (
        "agent/lsp/test_service.py::test_a_server_that_starts_too_slowly_is_skipped",
        "agent/lsp/test_service.py::test_a_server_that_keeps_dying_is_not_restarted",
        "agent/lsp/test_service.py::test_a_flood_of_diagnostics_is_stored_with_few_notifications",
        "agent/lsp/test_service.py::test_a_server_that_sends_updates_without_end_is_not_waited_for",
        "agent/lsp/test_file_checks.py::test_the_model_is_shown_a_few_of_many_errors",
        "e2e/test_processes.py::test_no_language_server_delays_an_edit",
    ),
    "language servers end with the program": (
        "agent/lsp/test_service.py::test_closing_during_the_start_leaves_no_process",
        "e2e/test_processes.py::test_no_language_server_outlives_the_program",
        "e2e/test_processes.py::test_exit_ends_every_language_server",
    ),
    "heavy web pages": (
        "agent/tools/test_webfetch.py::test_a_page_without_end_ends_at_its_time",
        "agent/tools/test_webfetch.py::test_a_large_body_is_cut_off",
        "agent/tools/test_webfetch.py::test_a_redirect_loop_ends",
        "agent/tools/test_webfetch.py::test_heavy_pages_are_turned_into_text",
        "e2e/test_webfetch.py::test_heavy_pages_are_reported_within_bounds",
        "e2e/test_webfetch.py::test_keys_work_while_a_page_is_fetched",
    ),
    "settings of public projects": (
        "agent/config/test_public_configs.py::test_no_project_keeps_the_program_from_starting",
        "agent/config/test_public_configs.py::test_the_users_own_model_is_used_where_the_projects_is_not_usable",
        "agent/config/test_public_configs.py::test_agents_have_the_names_and_settings_of_their_program",
        "agent/config/test_public_configs.py::test_a_folder_beside_the_project_is_allowed_and_denied",
        "agent/hooks/test_hook_loading.py::test_a_hook_with_a_condition_is_for_the_calls_that_it_names",
        "agent/hooks/test_claude_hooks.py::test_forms_of_hooks_in_a_projects_file",
    ),
    "edits after the agent's own sed": (
        "agent/tools/files/test_later_changes.py::test_the_next_edit_fits_what_a_command_made_of_a_file",
        "agent/tools/files/test_later_changes.py::test_what_the_model_does_not_know_has_to_be_read_again",
    ),
    "sessions of a folder that was moved": (
        "agent/session/test_related_folders.py::test_a_moved_folder_finds_its_sessions",
        "agent/session/test_related_folders.py::test_a_new_clone_finds_the_sessions_of_one_that_is_gone",
    ),
    # Runs, children, titles, the start
    "exit codes of headless runs": (
        "app/cli/run/test_run.py::test_a_failed_run_reports_its_failure",
        "app/cli/run/test_run.py::test_wrong_usage_is_a_sentence_and_a_code",
        "app/cli/run/test_run.py::test_a_failed_tool_call_does_not_fail_the_run",
        "app/cli/run/test_run.py::test_only_the_response_is_on_standard_output",
        "e2e/test_processes.py::test_a_redirected_response_is_plain_text",
    ),
    "results of sub-agents": (
        "agent/session/subagents/test_subagents.py::test_several_sub_agents_run_at_once_and_each_has_its_own_report",
        "agent/session/subagents/test_parallel_subagents.py::test_a_child_with_an_empty_or_cut_response_is_reported_as_such",
    ),
    "session titles": (
        "agent/session/test_titles.py::test_a_title_is_a_line_without_thoughts",
        "agent/session/test_titles.py::test_a_failure_leaves_the_title_as_it_was",
        "agent/session/test_titles.py::test_closing_does_not_wait_for_a_title",
        "app/cli/run/test_titles.py::test_a_missing_title_does_not_delay_a_run",
    ),
    "start in a huge folder": (
        "app/text/test_mentions.py::test_the_index_omits_files_that_git_ignores",
        "app/tui/test_startup.py::test_the_first_frame_is_painted_before_the_agent_is_loaded",
        "e2e/test_large_inputs.py::test_a_large_tree_without_git_delays_neither_start_nor_completion",
        "app/text/test_mentions.py::test_a_file_mentioned_before_the_runtime_is_ready_is_completed",
        "app/text/test_mentions.py::test_listed_files_are_offered_before_the_listing_ends",
        "app/text/test_mentions.py::test_no_file_of_very_many_is_omitted",
        "agent/tools/search/test_search.py::test_a_listing_looks_at_few_of_very_many_paths",
    ),
    "mentions of paths with an @": (
        "app/text/test_mentions.py::test_files_mentioned_in_a_prompt",
        "app/text/test_mentions.py::test_a_file_in_a_scoped_folder_is_completed",
    ),
    "run under cron, ssh and pipelines, and to a full disk": (
        "app/cli/run/test_standard_files.py::test_a_silent_open_standard_input_does_not_hold_up_a_given_prompt",
        "app/cli/run/test_standard_files.py::test_a_full_disk_is_one_sentence",
        "app/cli/run/test_standard_files.py::test_closed_standard_files_are_not_taken_by_the_database",
    ),
    "a SOCKS proxy in the environment": (
        "app/cli/run/test_proxy.py::test_requests_go_through_a_socks_proxy",
        "app/cli/run/test_proxy.py::test_a_proxy_that_cannot_be_used_is_a_sentence",
    ),
    "text typed between a command and the list that it opens was sent as a prompt": (
        "app/tui/test_typed_after_commands.py::test_a_filter_gets_what_was_typed_before_it_was_visible",
        "app/tui/test_typed_after_commands.py::test_nothing_typed_early_answers_a_question",
        "e2e/test_terminal.py::test_text_typed_before_a_list_is_visible_chooses_from_it",
    ),
    "file and line open in an editor that runs in the terminal": (
        "e2e/test_terminal.py::test_a_click_on_a_file_and_line_opens_an_editor_of_the_terminal_there",
    ),
    "at 40 columns and 16 rows a permission dialog had two rows and no key hints": (
        "app/screens/requests/test_permission.py::test_a_small_terminal_shows_subject_answers_and_keys",
    ),
    "ctrl+l did not put a dialog aside right after typing": (
        "app/tui/test_type_ahead.py::test_a_visible_dialog_is_put_aside_even_while_the_user_types",
    ),
    "--plain printed no output of a user's command": (
        "app/plain/test_console.py::test_a_command_of_the_users_runs",
    ),
}
